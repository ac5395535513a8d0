import { onTestFinished } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from './gateway-fixture.ts'
import { type ServiceAnswers, startService } from './service-fixture.ts'

/** A gateway for one test; what was started last is stopped first. */
export async function givenGateway(options: GatewayFixtureOptions): Promise<GatewayFixture> {
  const gateway = await startGateway(options)
  onTestFinished(() => gateway.stop())
  return gateway
}

/** A service for one test. */
export async function givenService(answers: ServiceAnswers) {
  const service = await startService(answers)
  onTestFinished(() => service.stop())
  return service
}
