import type { Plan, ProjectConfig, ProjectRef } from '@nextvisit/contracts'

/** The rules that a project's requests and imported lines follow, with sets for look-ups by name. */
export interface ProjectPolicy extends ProjectRef {
  readonly plan: Plan
  readonly config: ProjectConfig
  readonly allowedFields: ReadonlySet<string>
  /** The traits that a publishable key may change. Absent: all. */
  readonly settableTraits?: ReadonlySet<string> | undefined
  /** Slugs that are disabled, also of events, which the workspace file may name. */
  readonly disabledTraits: ReadonlySet<string>
  readonly disabledEvents: ReadonlySet<string>
  /** Slugs that the workspace file declares and does not disable. The project knows them before the first record. */
  readonly declaredTraits: ReadonlySet<string>
  readonly declaredEvents: ReadonlySet<string>
}
