import type { EventTracked, ActivityFact } from '@nextvisit/contracts'
import { BODY_RULES } from '../bodies/body-rules.ts'
import { applyAllowList, applyAllowListToProperties } from '../bodies/apply-allow-list.ts'
import { reject, type Rejection } from '../bodies/rejection.ts'
import { countsForOf } from '../conditions/property-counts.ts'
import { userIdOf } from '../ids.ts'
import { registeringSlugs } from '../traits/custom-slugs.ts'
import { toTraitOperations } from '../traits/trait-operators.ts'
import type { ProjectPolicy } from '../project-policy.ts'
import type { ImportLine } from './import-line.ts'

export type ImportedFact = { readonly outcome: 'ok'; readonly fact: ActivityFact } | Rejection

/**
 * Converts a line to its record (decisions.md, Import). Imports reserve no room: names are registered even over a cap.
 * `recordId` is called only if there is a record.
 */
export function importedFact(
  line: ImportLine,
  policy: ProjectPolicy,
  { received, recordId }: { readonly received: string; readonly recordId: () => string },
): ImportedFact {
  const { organization, project } = policy
  const { userName } = line.body
  const common = {
    organization,
    project,
    userId: userIdOf(organization, project, userName),
    received,
    environment: 'P',
    source: 'admin',
    keyed: false,
    unchecked: [],
    imported: true,
  } satisfies Partial<EventTracked>
  if (line.type === 'track') {
    if (policy.disabledEvents.has(line.body.slug)) return reject(BODY_RULES.disabled)
    const { eventName, slug, occurredAt } = line.body
    const verdict = { newEvent: false, metered: false, evaluateTriggers: false }
    const said = applyAllowListToProperties(policy, line.body.properties)
    const event = { ...common, eventName, slug, occurredAt, ...verdict, ...said }
    return {
      outcome: 'ok',
      fact: { type: 'EventTracked', id: recordId(), ...event, ...countsForOf(policy.config, event) },
    }
  }
  const chosen = applyAllowList(policy, line.body)
  if (chosen.outcome === 'rejected') return chosen
  return {
    outcome: 'ok',
    fact: {
      type: 'IdentifyRequested',
      id: recordId(),
      ...common,
      userName,
      traits: [...registeringSlugs(chosen.changes)],
      operations: toTraitOperations(chosen.changes),
      device: chosen.device,
      registeredTraits: [],
      strippedTraits: [],
      droppedTraits: [...chosen.droppedTraits],
      filteredFields: [...chosen.filteredFields],
      ...(line.occurredAt !== undefined && { occurredAt: line.occurredAt }),
    },
  }
}
