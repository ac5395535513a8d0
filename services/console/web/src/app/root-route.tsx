import { createRootRoute, retainSearchParams } from '@tanstack/react-router'
import { EmptyNote } from '../components/notes.tsx'
import { Shell } from './shell.tsx'

/** `tz` is absent for local time. A type alias, because the router requires an index signature. */
type CommonSearch = { readonly tz?: 'utc' | undefined }

/** The parent of every screen. */
export const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <EmptyNote>There is no such page. Select a screen in the navigation.</EmptyNote>,
  validateSearch: (search): CommonSearch => ({ tz: search['tz'] === 'utc' ? 'utc' : undefined }),
  search: { middlewares: [retainSearchParams<CommonSearch>(['tz'])] },
})
