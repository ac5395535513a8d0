import { createRootRoute, retainSearchParams } from '@tanstack/react-router'
import { SIGN_IN_PROBLEMS, type SignInProblem } from '../../../src/shared-with-pages.ts'
import { EmptyNote } from '../components/notes.tsx'
import { Shell } from './shell.tsx'

/** `tz` is absent for local time. A type alias, because the router requires an index signature. */
type CommonSearch = { readonly tz?: 'utc' | undefined; readonly problem?: SignInProblem | undefined }

/** The parent of every screen. */
export const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <EmptyNote>There is no such page. Select a screen in the navigation.</EmptyNote>,
  validateSearch: (search): CommonSearch => ({
    tz: search['tz'] === 'utc' ? 'utc' : undefined,
    problem: SIGN_IN_PROBLEMS.find((problem) => problem === search['problem']),
  }),
  search: { middlewares: [retainSearchParams<CommonSearch>(['tz'])] },
})
