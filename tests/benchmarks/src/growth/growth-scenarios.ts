import type { ProjectRef } from '@nextvisit/contracts'

/** A size of the system. Dimensions that are not named equal the dimensions of the first scenario. */
export interface GrowthScenario {
  readonly name: string
  /** Number of processes of each consumer. */
  readonly processes: number
  readonly projects: number
  readonly formsInProject: number
  /** Users in each project: coprime to 10, so that every user gets every kind of fact. */
  readonly usersInProject: number
  /** Facts to fold before the measured ones, so that all users are known. */
  readonly factsBefore: number
}

const FIRST = { processes: 1, projects: 1, formsInProject: 10, usersInProject: 19_997, factsBefore: 20_000 }

/** All scenarios. The first is the baseline. */
export const GROWTH_SCENARIOS: readonly GrowthScenario[] = [
  { ...FIRST, name: 'one process of each consumer' },
  { ...FIRST, name: 'two processes', processes: 2 },
  { ...FIRST, name: 'four processes', processes: 4 },
  { ...FIRST, name: '1,000 projects', projects: 1_000, usersInProject: 23 },
  { ...FIRST, name: '5,000 forms in the project', formsInProject: 5_000 },
  { ...FIRST, name: 'a million users', usersInProject: 999_983, factsBefore: 1_000_000 },
]

const PROJECTS_IN_ORGANIZATION = 100

/** Returns the projects of a scenario, a hundred per organization. */
export function projectsOf({ projects }: GrowthScenario): ProjectRef[] {
  return Array.from({ length: projects }, (_, index) => ({
    organization: `org-${Math.floor(index / PROJECTS_IN_ORGANIZATION)}`,
    project: `project-${index}`,
  }))
}

/** Returns the workspace file of a scenario as JSON (which is YAML). Facts of `fillLog` trigger only the first form. */
export function workspaceOf(scenario: GrowthScenario): string {
  const forms = Array.from({ length: scenario.formsInProject }, (_, index) => ({
    id: `form-${index}`,
    triggers: [{ event: index === 0 ? 'checkout_completed' : `event_${index}` }],
  }))
  const byOrganization = Map.groupBy(projectsOf(scenario), ({ organization }) => organization)
  const organizations = Array.from(byOrganization, ([id, projects]) => ({
    id,
    projects: projects.map(({ project }) => ({ id: project, keys: keysOf(project), forms })),
  }))
  return JSON.stringify({ organizations })
}

/** Returns the keys of a project: the demo's keys for one project. */
function keysOf(project: string): object[] {
  if (project !== 'project-0') return []
  return [
    { name: 'backend', kind: 'admin', environment: 'P', secret: '$DEMO_ADMIN_KEY' },
    { name: 'web', kind: 'sdk', environment: 'P', secret: '$DEMO_SDK_KEY' },
  ]
}
