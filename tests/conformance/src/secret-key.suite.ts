import { createHmac, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { freePort } from '@nextvisit/local-stack'
import { callGateway, keyNamed, SIGNING_SECRET } from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { product } from './product.ts'

const SDK_KEY = keyNamed('ROTATING_SDK_P')
const WORKSPACE = `
organizations:
  - id: rotating
    projects:
      - id: shop
        requireUserSignature: true
        signingSecret: $SIGNING_SECRET
        rateLimits: { sdk: { perSecond: 5000, burst: 10000 } }
        keys: [{ name: web, kind: sdk, environment: P, secret: $ROTATING_SDK_P }]
`

interface Gateway {
  readonly name: string
  readonly url: string
  readonly internalUrl: string
}

/** Sends signed visits to all gateways until it is stopped. Returns the statuses that differ from 200. */
function visitContinually(gateways: readonly Gateway[]) {
  const failed: (number | undefined)[] = []
  let visits = 0
  const over = new AbortController()
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      for (const { url } of gateways) {
        const { status } = await visit(url, `visitor-${visits % 7}`)
        visits += 1
        if (status !== 200) failed.push(status)
      }
      await sleep(20)
    }
  }
  const running = run()
  return {
    stop: async () => {
      over.abort()
      await running
      return { visits, failed }
    },
  }
}

function visit(gatewayUrl: string, userName: string, apiKey = SDK_KEY) {
  const userSignature = createHmac('sha256', SIGNING_SECRET).update(userName).digest('hex')
  return callGateway({ gatewayUrl, route: '/v2/sdk/identify-user', apiKey, body: { userName, userSignature } })
}

/** Runs a command with these keys in NEXTVISIT_SECRET_KEY, newest first. */
const nextvisit = (keys: readonly string[], ...args: readonly string[]) =>
  runNextvisit(args, {
    NEXTVISIT_DATA: product().dataDirectory,
    NEXTVISIT_SECRET_KEY: keys.join(),
    ROTATING_SDK_P: SDK_KEY,
    SIGNING_SECRET,
  })

/** Returns the position, the use and the rotating projects of each key. */
const status = async (keys: readonly string[]) => {
  const { stdout } = await nextvisit(keys, 'status', '--json')
  const { log } = JSON.parse(stdout) as {
    log: { secretKeys: { position: number; use: string; projects: string[] }[] }
  }
  return log.secretKeys.map(({ position, use, projects }) => [
    position,
    use,
    projects.filter((name) => name.startsWith('rotating/')),
  ])
}

/**
 * Tests the runbook rotate-secrets: signed visits are accepted at every step. Runs last, because it stops the product's
 * own gateway.
 */
export function describeSecretKey(): void {
  const newKey = randomBytes(32).toString('hex')
  const gateways: Gateway[] = []
  let oldKey: string
  let file: string

  const startGateway = async (...keys: readonly string[]): Promise<Gateway> => {
    const port = await freePort()
    const own = { GATEWAY_PORT: String(port), NEXTVISIT_SECRET_KEY: keys.join() }
    const { name, internalUrl } = await product().startReplica('gateway', own)
    const gateway = { name, internalUrl, url: `http://127.0.0.1:${port}` }
    // The catalog is read after the port is open.
    await expect.poll(async () => (await visit(gateway.url, 'first')).status, { timeout: 20_000 }).toBe(200)
    gateways.push(gateway)
    return gateway
  }

  /** Takes a gateway out of the load balancer, waits for its requests, and stops it. */
  const stopGateway = async (gateway: Gateway): Promise<void> => {
    gateways.splice(gateways.indexOf(gateway), 1)
    await sleep(500)
    await product().stopReplica(gateway.name)
  }

  describe('the rotation of NEXTVISIT_SECRET_KEY', () => {
    beforeAll(async () => {
      const secrets = JSON.parse(await readFile(path.join(product().dataDirectory, 'secrets.json'), 'utf8')) as {
        secretKey: string
      }
      oldKey = secrets.secretKey
      file = path.join(product().dataDirectory, 'rotating.yaml')
      await writeFile(file, WORKSPACE)
      expect((await nextvisit([oldKey], 'apply', file)).exitCode).toBe(0)
      const { gatewayUrl: url, internalUrlOf } = product()
      gateways.push({ name: 'gateway', url, internalUrl: internalUrlOf('gateway') })
    }, 60_000)

    afterAll(async () => {
      for (const { name } of gateways.filter((gateway) => gateway.name !== 'gateway')) await product().stopReplica(name)
    })

    it('refuses no signed visit at any step', { timeout: 120_000 }, async () => {
      const [first] = gateways as [Gateway]
      const visits = visitContinually(gateways)
      expect(await status([oldKey])).toEqual([[1, 'encrypts', ['rotating/shop']]])

      // Applying before every gateway has the new key is refused.
      const second = await startGateway(newKey, oldKey)
      const early = await nextvisit([newKey, oldKey], 'apply', file)
      expect(early).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^NEXTVISIT_SECRET_KEY of gateway\./) })
      await stopGateway(first)

      const applied = await nextvisit([newKey, oldKey], 'apply', file)
      expect(applied).toMatchObject({ exitCode: 0 })
      expect(applied.stdout).toMatch(/^1 secret re-encrypted with key [0-9a-f]{16}\.$/m)
      expect(await status([newKey, oldKey])).toEqual([
        [1, 'encrypts', ['rotating/shop']],
        // Other organizations of this product.
        [2, 'needed', []],
      ])

      await startGateway(newKey)
      await stopGateway(second)
      await sleep(500)
      const { visits: all, failed } = await visits.stop()
      expect(failed).toEqual([])
      expect(all).toBeGreaterThan(50)
    })

    it('answers 503 for a project whose key was removed too early, and names the key', async () => {
      const [{ url, internalUrl }] = gateways as [Gateway]
      const { stdout } = await nextvisit([newKey, oldKey], 'status', '--json')
      const { log } = JSON.parse(stdout) as { log: { secretKeys: { keyId: string }[] } }
      const oldId = log.secretKeys[1]?.keyId ?? ''
      const signed = keyNamed('SIGNED_SDK_P')
      expect(await visit(url, 'ada', signed)).toMatchObject({
        status: 503,
        answer: { message: 'userSignature cannot be checked now: try again' },
      })
      expect((await visit(url, 'ada')).status).toBe(200)
      const ready = (await (await fetch(`${internalUrl}/readyz`)).json()) as { alarms: string[] }
      expect(ready.alarms).toEqual([expect.stringContaining(`NEXTVISIT_SECRET_KEY lacks key ${oldId}`)])
      const metrics = await (await fetch(`${internalUrl}/metrics`)).text()
      expect(metrics).toMatch(new RegExp(`^nextvisit_gateway_undecryptable_secrets\\{.*key="${oldId}".*\\} 1$`, 'm'))
    })
  })
}
