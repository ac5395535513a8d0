import { encryptSigningSecret, encryptWebhookSecret } from '@nextvisit/catalog'
import { OrganizationConfig, parseWithin, type WorkspaceFault, WorkspaceFile } from '@nextvisit/contracts'
import { contentHashOf, hashApiKey } from '@nextvisit/domain'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { readKeyRing } from '../environment/key-ring.ts'
import { checkSecrets, valueOf } from './check-secrets.ts'
import { checkWorkspace } from './check-workspace.ts'
import { explainIssue } from './explain-issue.ts'
import { type Path, readYaml } from './read-yaml.ts'
import type { WantedContent } from './settle-contents.ts'

/** A workspace file in the catalog's form. */
export interface Workspace {
  /** Their forms do not refer to contents yet: `settleContents` does that. */
  readonly organizations: readonly OrganizationConfig[]
  readonly contents: readonly WantedContent[]
}

/**
 * Parses a workspace file to the catalog's form (decisions.md, The workspace file), or to all of its faults
 * in the order of lines. `env` has the values of `$NAME` and NEXTVISIT_SECRET_KEY. Keys become hashes, and secrets are
 * encrypted with a new nonce each time; `applyWorkspace` recognizes unchanged ones. Without `env`, projects have no keys, signing
 * secrets and webhooks.
 */
export function parseWorkspaceFile(
  text: string,
  env: EnvironmentVariables | undefined,
):
  | ({ readonly outcome: 'ok' } & Workspace)
  | { readonly outcome: 'invalid'; readonly faults: readonly WorkspaceFault[] } {
  const yaml = readYaml(text)
  if (yaml.outcome === 'invalid') return yaml
  const workspace = { path: [], value: yaml.value }
  const parsed = parseWithin(WorkspaceFile, yaml.value)
  const issues = parsed.success ? [] : parsed.issues.flatMap((issue, nth) => explainIssue(issue, yaml.value, nth))
  const secretFaults = env ? checkSecrets(workspace, env) : []
  const faults = [...issues, ...checkWorkspace(workspace), ...secretFaults]
    .map(({ path, message }) => ({ line: yaml.lineOf(path), path: pathText(path), message }))
    .toSorted((a, b) => a.line - b.line)
  if (!parsed.success || faults.length > 0) return { outcome: 'invalid', faults }
  const { organizations } = parsed.data
  return {
    outcome: 'ok',
    organizations: organizations.map((organization) => toConfig(organization, env)),
    contents: organizations.flatMap(contentsOf),
  }
}

type OrganizationInFile = WorkspaceFile['organizations'][number]

function contentsOf({ id: organization, projects }: OrganizationInFile): readonly WantedContent[] {
  return projects.flatMap(({ id: project, forms }) =>
    forms.flatMap(({ id: formId, content }) =>
      content ? { organization, project, formId, hash: contentHashOf(content), content } : [],
    ),
  )
}

function toConfig(organization: OrganizationInFile, env: EnvironmentVariables | undefined): OrganizationConfig {
  const ring = env && readKeyRing(env)
  const addedAt = new Date().toISOString()
  const projects = organization.projects.map((given) => {
    const project = { ...given, forms: given.forms.map((form) => ({ ...form, content: undefined })) }
    if (!env) return { ...project, signingSecret: undefined, keys: [], webhooks: [] }
    const secret = valueOf(project.signingSecret, env)
    const ref = { organization: organization.id, project: project.id }
    return {
      ...project,
      // Without a ring, a file with a secret was refused above.
      signingSecret: secret && ring?.outcome === 'ok' ? encryptSigningSecret(secret, ring.keyRing, ref) : undefined,
      keys: project.keys.map((key) => {
        if ('sha256' in key) return key
        const { secret: reference, ...entry } = key
        return { ...entry, sha256: hashApiKey(valueOf(reference, env) ?? '') }
      }),
      webhooks: project.webhooks.map(({ secret: reference, ...webhook }) => ({
        ...webhook,
        secret:
          ring?.outcome === 'ok'
            ? encryptWebhookSecret(valueOf(reference, env) ?? '', ring.keyRing, { ...ref, endpointId: webhook.id })
            : '',
        addedAt,
      })),
    }
  })
  // Round-trips through JSON, as in the log: absent members are absent, not undefined.
  return OrganizationConfig.parse(JSON.parse(JSON.stringify({ ...organization, projects })))
}

function pathText(path: Path): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${step}`)).join('')
}
