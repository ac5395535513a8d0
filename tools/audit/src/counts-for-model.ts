import type { Catalog } from './catalog.ts'
import { countNames } from './count-names.ts'
import { type ProjectRef, type EventTracked, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { type Model, NEAR_MS } from './model.ts'
import { decideWhere } from './condition.ts'
import type { Where } from './workspace-file.ts'

/**
 * Time in ms within which gateways know an applied revision. A gateway disconnected from Kafka may know it later than
 * an evaluator.
 */
const KNOWN_WITHIN_MS = 60_000
const KIND = 'user-events: countsFor'

type Wheres = ReadonlyMap<string, Where>

/**
 * Creates the model of `countsFor` in the records of events (forms.md, Property counts): each of
 * its conditions holds, and no condition is missing that was in use the whole time.
 */
export function createCountsForModel(catalog: Catalog, findings: Findings): Model {
  const known = new Map<string, EverAsked>()
  const everAsked = ({ organization, project }: ProjectRef): EverAsked => {
    const key = `${organization}/${project}`
    const asked = known.get(key) ?? everAskedIn(catalog, { organization, project })
    known.set(key, asked)
    return asked
  }

  const check = (fact: EventTracked): void => {
    const about = `${userKey(fact)} record ${fact.id}`
    const named = countNames(fact).slice(1)
    const { wheres, isWhole } = everAsked(fact)
    for (const name of named) {
      const where = wheres.get(name)
      if (where && !decideWhere(where, fact).holds) findings.add(KIND, about, `has ${name}, which does not hold`)
      if (!where && isWhole) findings.add(KIND, about, `has ${name}, which no revision uses`)
    }
    // An import uses the catalog as of its start.
    if (fact.imported) return
    for (const [name, where] of steadilyAsked(catalog, fact)) {
      if (!named.includes(name) && name.startsWith(`${fact.slug}#`) && decideWhere(where, fact).holds) {
        findings.add(KIND, about, `lacks ${name}, which holds`)
      }
    }
  }

  return {
    foldUser: (fact) => {
      if (fact.type === 'EventTracked') check(fact)
    },
  }
}

interface EverAsked {
  readonly wheres: Wheres
  /** True if all revisions are known; false if the topic has lost some. */
  readonly isWhole: boolean
}

/** Returns the property counts that any revision of a project uses. */
function everAskedIn(catalog: Catalog, { organization, project }: ProjectRef): EverAsked {
  const revisions = Array.from({ length: catalog.latest(organization) }, (_, at) => at + 1)
  const asked = revisions.flatMap((revision) => [
    ...(catalog.project(organization, project, revision)?.propertyCounts ?? []),
  ])
  return { wheres: new Map(asked), isWhole: revisions.every((revision) => catalog.isKnown(organization, revision)) }
}

const NOTHING: Wheres = new Map()

/** Returns the property counts that every revision uses that a gateway may have known when it wrote the record. */
function steadilyAsked(catalog: Catalog, { organization, project, received }: EventTracked): Wheres {
  const now = Date.parse(received)
  const first = catalog.revisionAt(organization, now - KNOWN_WITHIN_MS)
  const last = Math.max(first, catalog.lastRevisionAt(organization, now + NEAR_MS))
  const asked = catalog.project(organization, project, first)?.propertyCounts ?? NOTHING
  if (asked.size === 0) return asked
  const others = Array.from(
    { length: last - first },
    (_, at) => catalog.project(organization, project, first + 1 + at)?.propertyCounts,
  )
  return new Map([...asked].filter(([name]) => others.every((other) => other?.has(name))))
}
