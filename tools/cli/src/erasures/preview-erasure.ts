import { addressesVariable, DEFAULT_PARTITIONS, type ProjectRef, userProjectorCalls } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { type LogConnection, partitionForKey } from '@nextvisit/log'
import {
  addressesConfig,
  createCallClient,
  createInternalClient,
  type EnvironmentVariables,
  internalTokenConfig,
} from '@nextvisit/service-kit'
import { readSettings } from '../environment/config.ts'
import { projectName } from '../find-project.ts'
import { formatCount } from '../output/progress.ts'
import { ANSWER_WITHIN_MS, requireToken } from './ask-erasures.ts'

const MAX_NAMES_SHOWN = 20
const PROJECTOR_VARIABLE = addressesVariable('user-projector')

interface PreviewParts {
  readonly project: ProjectRef
  readonly userNames: readonly string[]
  readonly suppress: boolean
  readonly connection: LogConnection
  readonly env: EnvironmentVariables
}

/** Says what an erasure would erase, and which names have no profile: they may be misspelt. */
export async function previewErasure(parts: PreviewParts): Promise<string> {
  const { project, userNames, suppress } = parts
  const lookedUp = await findMissing(parts)
  const missing = new Set(lookedUp.outcome === 'checked' ? lookedUp.missing : [])
  // The limit must not hide a misspelt name.
  const ordered = [...userNames.filter((name) => missing.has(name)), ...userNames.filter((name) => !missing.has(name))]
  const shown = ordered.slice(0, MAX_NAMES_SHOWN).map((name) => (missing.has(name) ? `${name} (no profile)` : name))
  const more = userNames.length > MAX_NAMES_SHOWN ? ` and ${formatCount(userNames.length - MAX_NAMES_SHOWN)} more` : ''
  return [
    `This would erase ${countOf(userNames.length)} of ${projectName(project)} for good: ${shown.join(', ')}${more}.`,
    ...(missing.size > 1 ? [`${formatCount(missing.size)} of the names have no profile.`] : []),
    ...(lookedUp.outcome === 'unchecked' ? [`Profiles were not checked: ${lookedUp.reason}.`] : []),
    ...(suppress ? ['Their records would be refused from then on.'] : []),
    'Nothing was erased. Add --yes to erase.',
  ].join(' ')
}

type LookedUp =
  | { readonly outcome: 'checked'; readonly missing: readonly string[] }
  | { readonly outcome: 'unchecked'; readonly reason: string }

/** Finds the names without a profile. An erasure needs no user projector, so a preview works without it, too. */
async function findMissing({ project: place, userNames, connection, env }: PreviewParts): Promise<LookedUp> {
  if (!env[PROJECTOR_VARIABLE]) return { outcome: 'unchecked', reason: `${PROJECTOR_VARIABLE} is not set` }
  const { services, internalToken: token } = readSettings(
    addressesConfig('user-projector').and(internalTokenConfig),
    env,
  )
  const client = createInternalClient({ addresses: services['user-projector'], token, timeoutMs: ANSWER_WITHIN_MS })
  const { organization, project } = place
  const partitions = connection.partitions?.keyPartitions ?? DEFAULT_PARTITIONS
  const questions = userNames.map((userName) => {
    const userId = userIdOf(organization, project, userName)
    return { organization, project, userId, partition: partitionForKey(userId, partitions) }
  })
  const asked = await createCallClient(userProjectorCalls, client).lookUpUsers({ questions })
  requireToken(asked)
  if (asked.outcome !== 'answered') return { outcome: 'unchecked', reason: 'the user-projector does not answer' }
  const { answers } = asked.answer
  if (answers.some(({ existence }) => existence === 'unknown'))
    return { outcome: 'unchecked', reason: 'the user-projector lags. See nextvisit status' }
  return { outcome: 'checked', missing: userNames.filter((_, index) => answers[index]?.existence === 'missing') }
}

/** Returns a number of users in words. */
export function countOf(users: number): string {
  return `${formatCount(users)} ${users === 1 ? 'user' : 'users'}`
}
