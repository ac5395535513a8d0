import type { OrganizationConfig } from '@nextvisit/contracts'
import type { Fault } from './explain-issue.ts'
import { member, type YamlNode, text } from './yaml-node.ts'

/** Checks the URL of a webhook. Its address is checked when the dispatcher connects. */
export function checkWebhook(webhook: YamlNode): readonly Fault[] {
  const written = text(webhook, 'url')
  if (written === undefined) return []
  const fault = faultOfUrl(written)
  return fault === undefined ? [] : [{ path: member(webhook, 'url').path, message: fault }]
}

function faultOfUrl(written: string): string | undefined {
  const url = URL.parse(written)
  // URL ignores spaces around it, and takes `https:host` for `https://host`.
  if (!url || /\s/.test(written) || !/^[a-z]+:\/\/[^/]/i.test(written))
    return 'must be an absolute URL such as https://example.com/hooks'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `must begin with https://, not ${url.protocol}//`
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'must begin with https://: http:// is only for loopback, on a local stack'
  if (url.username !== '' || url.password !== '')
    return 'contains a user name or password: remove it, since the signature tells who sends'
  if (written.includes('#')) return 'has a fragment (#…), which is never sent: remove it'
  return undefined
}

/** Returns whether a host of `URL` names this machine. */
function isLoopback(hostname: string): boolean {
  return /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

/** Returns a warning about each webhook over plain HTTP, which only a local stack sends. */
export function webhookWarnings({ id: organization, projects }: OrganizationConfig): readonly string[] {
  return projects.flatMap(({ id: project, webhooks }) =>
    webhooks.flatMap(({ id, url }) =>
      URL.parse(url)?.protocol === 'http:'
        ? `${organization}/${project}: webhook ${id} uses http://, which only a local stack sends. Use https:// elsewhere.`
        : [],
    ),
  )
}
