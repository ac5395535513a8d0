import { compareRows } from './compare-rows.ts'
import type { ClearFact, ProjectRef, UserRef } from './facts.ts'
import { type Model, OF_RANGE } from './model.ts'

interface Usage {
  events: number
  identifies: number
  visits: number
}

interface RowOfMonth extends ProjectRef {
  readonly month: string
}

interface CounterRow extends RowOfMonth {
  readonly kind: 'event' | 'mau'
}

/** Creates the model of all tables of metering: counters, active users, usage, unique names. */
export function createMeteringModel(): Model {
  const members = new Map<string, true>()
  const counts = new Map<string, number>()
  const usage = new Map<string, Usage>()
  const firstMonths = new Map<string, string>()

  const count = (key: string, by: number): void => void counts.set(key, (counts.get(key) ?? 0) + by)

  const useName = (key: string, month: string): void => {
    const before = firstMonths.get(key)
    if (before === undefined || month < before) firstMonths.set(key, month)
  }

  const useOnce = (key: string, what: keyof Usage): void => {
    const before = usage.get(key) ?? { events: 0, identifies: 0, visits: 0 }
    usage.set(key, before)
    before[what] += 1
  }

  return {
    compareUsers: async (snapshot, { first, last }, findings) => {
      for (const member of members.keys()) {
        const [organization, project, month] = member.split('/', 3)
        count(`${organization}/${project}/mau/${month}`, 1)
      }
      await compareRows({
        table: 'metering.mau_members',
        expected: members,
        cellsOf: () => ({}),
        rows: snapshot.rows<RowOfMonth & UserRef>(
          `SELECT organization, project, month, user_id AS "userId" FROM mau_members ${OF_RANGE}`,
          [first, last],
        ),
        keyOf: ({ organization, project, month, userId }) => `${organization}/${project}/${month}/${userId}`,
        findings,
      })
    },

    foldClear: (fact) => {
      if (fact.type !== 'EventTracked' && fact.type !== 'IdentifyRequested') return
      const project = `${fact.organization}/${fact.project}`
      const month = monthOf(fact)
      const inMonth = `${project}/${month}/${fact.environment}`
      if (fact.type === 'EventTracked') {
        useName(`${project}/event/${fact.slug}`, month)
        if (fact.imported) return
        useOnce(inMonth, 'events')
        if (fact.metered) count(`${fact.organization}//event/${month}`, 1)
        return
      }
      for (const slug of fact.traits) useName(`${project}/trait/${slug}`, month)
      if (fact.imported) return
      members.set(`${project}/${month}/${fact.userId}`, true)
      useOnce(inMonth, fact.source === 'sdk' ? 'visits' : 'identifies')
    },

    compareShared: async (snapshot, findings) => {
      const counted = new Map([...counts].map(([key, sum]) => [key, { count: sum }]))
      await compareRows({
        table: 'metering.counters',
        expected: counted,
        // A counter of 0 may or may not have a row.
        rows: snapshot.rows<CounterRow>(
          `SELECT organization, project, kind, month, sum(count)::bigint AS count
           FROM counters GROUP BY organization, project, kind, month HAVING sum(count) <> 0`,
        ),
        keyOf: counterKey,
        findings,
      })
      // Reservations are not folded from the log, but the sums of open ones must match their rows.
      for await (const row of snapshot.rows<CounterRow & { readonly reserved: number; readonly found: number }>(`
        SELECT organization, project, kind, month, sum(reserved)::bigint AS reserved, sum(found)::bigint AS found
        FROM (
          SELECT organization, project, kind, month, units AS reserved, 0 AS found FROM reserved_room
          UNION ALL SELECT organization, project, kind, month, -fulfilled, 0 FROM counters
          UNION ALL SELECT organization, project, kind, month, 0, units FROM reservations
        ) AS unit
        GROUP BY organization, project, kind, month HAVING sum(reserved) <> sum(found)`)) {
        findings.add('metering.reserved_room: units', counterKey(row), `${row.reserved} instead of ${row.found}`)
      }
      await compareRows({
        table: 'metering.usage',
        expected: usage,
        rows: snapshot.rows<RowOfMonth & { readonly environment: string }>(
          `SELECT organization, project, month, environment,
             sum(events)::bigint AS events, sum(identifies)::bigint AS identifies, sum(visits)::bigint AS visits
           FROM usage GROUP BY organization, project, month, environment`,
        ),
        keyOf: ({ organization, project, month, environment }) => `${organization}/${project}/${month}/${environment}`,
        findings,
      })
      await compareRows({
        table: 'metering.unique_names',
        expected: firstMonths,
        cellsOf: (firstMonth) => ({ firstMonth }),
        rows: snapshot.rows<ProjectRef & { readonly kind: string; readonly slug: string }>(
          'SELECT organization, project, kind, slug, first_month AS "firstMonth" FROM unique_names',
        ),
        keyOf: ({ organization, project, kind, slug }) => `${organization}/${project}/${kind}/${slug}`,
        findings,
      })
    },
  }
}

function counterKey({ organization, project, kind, month }: CounterRow): string {
  return `${organization}/${project}/${kind}/${month}`
}

function monthOf({ received }: ClearFact): string {
  return received.slice(0, 'yyyy-mm'.length)
}
