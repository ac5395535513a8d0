import type { CatalogState } from '@nextvisit/catalog'
import type { OrganizationConfig, OrganizationConfigured } from '@nextvisit/contracts'

interface Applied {
  readonly organizations: readonly OrganizationConfig[]
  readonly prune?: boolean
  readonly overwrite?: boolean
}

/** Maximum record size in bytes: a broker's default maximum (1 MiB) minus room for headers. */
const MAX_RECORD_BYTES = 900_000

/** Returns the reason why `apply` publishes nothing. undefined: there is none. */
export function findRefusal(
  state: CatalogState,
  options: Applied,
  records: readonly OrganizationConfigured[],
): string | undefined {
  return notUnderstood(state, options) ?? keyOfAnother(state, options) ?? tooLarge(records)
}

/** Returns a refusal if the file would replace a revision of a later version, which this version's file cannot express. */
function notUnderstood(state: CatalogState, options: Applied): string | undefined {
  if (options.overwrite) return undefined
  const named = new Set(options.organizations.map(({ id }) => id))
  const lost = [...state.organizations.values()].flatMap(({ problem }) => problem ?? [])
  const found = lost.find(
    ({ organization, isUndecodable, isMissingContent }) =>
      !isUndecodable && !isMissingContent && (options.prune || named.has(organization)),
  )
  if (!found) return undefined
  const { organization, revision, reason } = found
  return (
    `This version of nextvisit does not understand revision ${revision ?? '?'} of ${organization} in the catalog: ${reason}. ` +
    'Apply with the version that wrote it, or use --overwrite to replace that revision.'
  )
}

/** Returns a refusal if a key already belongs to another organization, including those that the file does not name. */
function keyOfAnother(state: CatalogState, { organizations, prune }: Applied): string | undefined {
  const named = new Set(organizations.map((organization) => organization.id))
  for (const { id, projects } of organizations) {
    for (const key of projects.flatMap((project) => project.keys)) {
      const holder = state.keys.get(key.sha256)?.[0]?.project.organization
      if (holder !== undefined && !named.has(holder) && !prune) {
        return `Key ${key.name} of organization ${id} already belongs to organization ${holder}; create another with \`nextvisit keys create\`.`
      }
    }
  }
  return undefined
}

function tooLarge(records: readonly OrganizationConfigured[]): string | undefined {
  const record = records.find((one) => Buffer.byteLength(JSON.stringify(one)) > MAX_RECORD_BYTES)
  if (!record) return undefined
  return `Organization ${record.organization} is larger than ${MAX_RECORD_BYTES} bytes; split it into several.`
}
