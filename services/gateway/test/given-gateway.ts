import { onTestFinished } from 'vitest'
import { type GatewayFixture, type GatewayFixtureOptions, startGateway } from './gateway-fixture.ts'
import { type ServiceAnswers, startService } from './service-fixture.ts'

/** Starts a gateway for one test. Parts stop in the reverse order of their starts. */
export async function givenGateway(options: GatewayFixtureOptions): Promise<GatewayFixture> {
  const gateway = await startGateway(options)
  onTestFinished(() => gateway.stop())
  return gateway
}

/** Starts a service for one test. */
export async function givenService(answers: ServiceAnswers) {
  const service = await startService(answers)
  onTestFinished(() => service.stop())
  return service
}
