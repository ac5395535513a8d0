import type { ProjectRef } from '@nextvisit/contracts'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { apiQuery } from '../app/api.ts'
import { EmptyNote, ErrorNote, Loading } from './notes.tsx'

/** The selected project, and the names of all projects, `organization/project`. */
export interface ChosenProject {
  readonly path: ProjectRef
  readonly name: string
  readonly names: readonly string[]
}

interface WithProjectProps {
  /** From the address; the first project if absent or not in the workspace. */
  readonly chosen: string | undefined
  readonly children: (project: ChosenProject) => ReactNode
}

/** Shows a screen for one project when the projects are loaded. */
export function WithProject({ chosen, children }: WithProjectProps) {
  const { data, error, refetch } = useQuery(apiQuery('listProjects', {}))
  if (!data) return error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : <Loading name="the projects" />
  const names = data.projects.map(({ organization, project }) => `${organization}/${project}`)
  const index = Math.max(0, names.indexOf(chosen ?? ''))
  const [name, path] = [names[index], data.projects[index]]
  if (name === undefined || !path)
    return <EmptyNote>The workspace has no projects yet. Apply a workspace file: nextvisit apply FILE.</EmptyNote>
  return children({ path, name, names })
}

interface ProjectCrumbsProps {
  readonly path: ChosenProject['path']
  /** Link to the list. */
  readonly children: ReactNode
}

/** Breadcrumbs of a screen for one user, form or segment of a project. */
export function ProjectCrumbs({ path: { organization, project }, children }: ProjectCrumbsProps) {
  return (
    <nav aria-label="Breadcrumbs" className="crumbs">
      {children} / {organization} / {project}
    </nav>
  )
}

interface ProjectSelectProps extends Pick<ChosenProject, 'names'> {
  /** undefined: all projects. */
  readonly name: string | undefined
  readonly onChoose: (name: string | undefined) => void
  /** Label of the option for all projects; absent: there is none. */
  readonly all?: string
}

export function ProjectSelect({ name, names, onChoose, all }: ProjectSelectProps) {
  return (
    <label>
      Project
      <select value={name ?? ''} onChange={(event) => onChoose(event.target.value || undefined)}>
        {all !== undefined && <option value="">{all}</option>}
        {names.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  )
}
