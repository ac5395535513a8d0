import { setTimeout as sleep } from 'node:timers/promises'
import type { CommitDb } from '@nextvisit/database'
import { createOutageLog, type Logger } from '@nextvisit/service-kit'
import { endpointKeyOf } from '../endpoints.ts'
import type { Lane } from './lane.ts'
import { type HealthChange, saveResults, type TurnResult } from './save-results.ts'

const MAX_RESULTS_A_COMMIT = 500
const AGAIN_AFTER_MS = 500

interface HealthHint {
  readonly addedAt: string
  readonly isGone: boolean
}

interface AddedResult extends TurnResult {
  readonly health?: HealthHint | undefined
}

interface ResultWriterParts {
  readonly db: CommitDb
  readonly lanes: ReadonlyMap<string, Lane>
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly now: () => Date
  readonly onWritten: () => void
}

/**
 * Creates the writer of results. One commit is in flight; results that come meanwhile share the next one. While Postgres is unavailable,
 * results wait: their turns stay claimed, so nothing is sent twice.
 */
export function createResultWriter({ db, lanes, logger, now, onWritten }: ResultWriterParts) {
  let results: AddedResult[] = []
  let reads = 0
  let [isWriting, isFinishing] = [false, false]
  let writing = Promise.resolve()
  const outage = createOutageLog(logger, {
    began: 'Results of webhooks cannot be saved; trying again',
    ended: 'Results of webhooks are saved again',
  })

  async function writeAll(): Promise<void> {
    // Results of one tick share a commit.
    await sleep(1)
    while (results.length > 0) {
      const batch = results.slice(0, MAX_RESULTS_A_COMMIT)
      try {
        await db.executeAll(saveResults(batch, healthOf(batch), now()))
      } catch (err) {
        outage.begin({ err })
        if (isFinishing) return
        await sleep(AGAIN_AFTER_MS)
        continue
      }
      outage.end()
      results = results.slice(batch.length)
      settle(batch)
    }
    isWriting = false
  }

  function settle(batch: readonly AddedResult[]): void {
    for (const { turn, health, attempt } of batch) {
      const lane = lanes.get(endpointKeyOf(turn))
      if (!lane) continue
      lane.release(turn)
      // Postgres now has the endpoint as disabled, as this process has.
      if (
        lane.trustedFrom === Number.POSITIVE_INFINITY &&
        health &&
        attempt?.status === 'pending' &&
        !attempt.countsInRound
      ) {
        lane.trustedFrom = reads + 1
        logger.warn(
          { endpoint: endpointKeyOf(turn), isGone: health.isGone },
          'An endpoint of webhooks is disabled; enable it once it works',
        )
      }
    }
    onWritten()
  }

  return {
    /** Notes the beginning of a read of Postgres. Returns its number. */
    beginRead: (): number => (reads += 1),
    /** Saves a result soon. `health`: the attempt tells about the health of the endpoint. */
    add: (result: TurnResult, health?: HealthHint): void => {
      results.push({ ...result, health })
      if (isWriting) return
      isWriting = true
      writing = writeAll()
    },
    /** Resolves once all results are saved, or cannot be saved. */
    finish: async (): Promise<void> => {
      isFinishing = true
      await writing
    },
  }
}

/** Sums up what a batch tells about each endpoint. */
function healthOf(batch: readonly AddedResult[]): readonly HealthChange[] {
  const byEndpoint = Map.groupBy(
    batch.filter(({ health, attempt }) => health && attempt),
    ({ turn, health }) => `${endpointKeyOf(turn)} ${health?.addedAt}`,
  )
  return [...byEndpoint.values()].flatMap((own) => {
    const [first] = own
    if (!first?.health) return []
    const { organization, project, endpointId } = first.turn
    const deliveredAt = latest(own.flatMap(({ attempt }) => (attempt?.status === 'delivered' ? attempt.at : [])))
    const failures = own.flatMap(({ attempt }) => (attempt && attempt.status !== 'delivered' ? attempt.at : []))
    return {
      organization,
      project,
      endpointId,
      addedAt: first.health.addedAt,
      deliveredAt,
      failingSince: earliest(failures.filter((at) => !deliveredAt || at > deliveredAt)),
      goneAt: earliest(own.flatMap(({ attempt, health }) => (attempt && health?.isGone ? attempt.at : []))),
    }
  })
}

function latest(instants: readonly Date[]): Date | undefined {
  return instants.toSorted((one, other) => other.getTime() - one.getTime())[0]
}

function earliest(instants: readonly Date[]): Date | undefined {
  return instants.toSorted((one, other) => one.getTime() - other.getTime())[0]
}
