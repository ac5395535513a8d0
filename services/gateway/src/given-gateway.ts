import { onTestFinished } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from './gateway-fixture.ts'
import { type OwnerAnswers, startOwner } from './owner-fixture.ts'

/** A gateway for one test; what was started last is stopped first. */
export async function givenGateway(options: GatewayFixtureOptions): Promise<GatewayFixture> {
  const gateway = await startGateway(options)
  onTestFinished(() => gateway.stop())
  return gateway
}

/** An owner for one test. */
export async function givenOwner(answers: OwnerAnswers) {
  const owner = await startOwner(answers)
  onTestFinished(() => owner.stop())
  return owner
}
