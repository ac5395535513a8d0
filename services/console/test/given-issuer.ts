import { createHash, createSign, generateKeyPairSync } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { serve } from './given-openid-console.ts'

type Members = Readonly<Record<string, unknown>>

const ENCODED_NONE = { alg: 'none', typ: 'JWT' }
const encode = (members: Members): string => Buffer.from(JSON.stringify(members)).toString('base64url')

/** A key pair of an issuer. */
function givenKey() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const jwk = publicKey.export({ format: 'jwk' })
  const kid = createHash('sha256').update(String(jwk.n)).digest('base64url').slice(0, 8)
  return {
    jwk: { ...jwk, kid, alg: 'RS256', use: 'sig' },
    sign: (claims: Members): string => {
      const signed = `${encode({ alg: 'RS256', kid })}.${encode(claims)}`
      return `${signed}.${createSign('sha256').update(signed).sign(privateKey, 'base64url')}`
    },
  }
}

/** Made once: it takes long. */
const [key, unknownKey] = [givenKey(), givenKey()]

/** Signs with no key. */
const unsigned = (claims: Members): string => `${encode(ENCODED_NONE)}.${encode(claims)}.`

/**
 * Starts an issuer that signs in everyone who comes, and whose ID tokens a spec can falsify. `claims` are added to those of a valid
 * token, or replace them; `sign` signs it.
 */
export async function givenIssuer() {
  const issuer = {
    keys: [key.jwk],
    claims: {} as Members,
    sign: key.sign as (claims: Members) => string,
    metadata: {} as Members,
    /** Header and body of the requests for tokens. */
    tokenRequests: [] as { readonly authorization: string | undefined; readonly body: URLSearchParams }[],
    isDown: false,
  }
  let nonce: string | null = null
  const address = await serve((own) => (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', own)
    const send = (members: Members) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(members))
    }
    if (issuer.isDown) return void response.writeHead(503).end()
    if (pathname === '/authorize') {
      nonce = searchParams.get('nonce')
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ code: 'a code', state: searchParams.get('state') ?? '' }).toString()
      return void response.writeHead(303, { location: back.href }).end()
    }
    if (pathname === '/jwks') return send({ keys: issuer.keys })
    if (pathname === '/token') {
      const { authorization } = request.headers
      void text(request).then((body) => issuer.tokenRequests.push({ authorization, body: new URLSearchParams(body) }))
      const seconds = Math.floor(Date.now() / 1_000)
      const valid = { iss: own, aud: 'console', sub: 'ada-1', iat: seconds, exp: seconds + 60, nonce, roles: ['ops'] }
      const idToken = issuer.sign({ ...valid, ...issuer.claims })
      return send({ access_token: 'an access token', token_type: 'Bearer', id_token: idToken })
    }
    send({
      issuer: own,
      authorization_endpoint: `${own}/authorize`,
      token_endpoint: `${own}/token`,
      jwks_uri: `${own}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'none'],
      ...issuer.metadata,
    })
  })
  return Object.assign(issuer, { address, unknownKey, unsigned })
}
