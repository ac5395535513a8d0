import { type ClientMetadata, Provider } from 'oidc-provider'
import { serve } from './given-openid-console.ts'

interface Account {
  readonly [claim: string]: unknown
}

/**
 * Starts an OpenID Connect provider. `person.id`: the account that its sign-in page signs in, without a question.
 * `consoles`: their addresses.
 */
export async function givenProvider(
  person: { id: string },
  accounts: Readonly<Record<string, Account>>,
  consoles: readonly string[],
  own: Partial<ClientMetadata> & { readonly hasIdTokenClaims?: boolean } = {},
): Promise<string> {
  const { hasIdTokenClaims = true, ...client } = own
  return serve((issuer) => {
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: 'console',
          client_secret: 'the secret of the console',
          redirect_uris: consoles.map((address) => `${address}/api/session/callback`),
          post_logout_redirect_uris: consoles.map((address) => `${address}/`),
          ...client,
        },
      ],
      claims: { openid: ['sub'], profile: ['name', 'roles'], email: ['email'] },
      conformIdTokenClaims: !hasIdTokenClaims,
      cookies: { keys: ['a key of the specs'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
      // Nobody is asked for consent.
      loadExistingGrant: async ({ oidc }) => {
        const grant = new provider.Grant({
          ...(oidc.client && { clientId: oidc.client.clientId }),
          ...(oidc.session?.accountId !== undefined && { accountId: oidc.session.accountId }),
        })
        grant.addOIDCScope('openid profile email')
        await grant.save()
        return grant
      },
    })
    const callback = provider.callback()
    return (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return void callback(request, response)
      void provider.interactionFinished(request, response, { login: { accountId: person.id } })
    }
  })
}
