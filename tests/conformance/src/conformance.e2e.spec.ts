import { afterAll, beforeAll } from 'vitest'
import { describeBodies } from './bodies.suite.ts'
import { describeBrowser } from './browser.suite.ts'
import { describeChanges } from './changes.suite.ts'
import { describeDeviceInfo } from './device-info.suite.ts'
import { describeEventLimits } from './event-limits.suite.ts'
import { describeFormContent } from './form-content.suite.ts'
import { describeForms } from './forms.suite.ts'
import { describeIdempotency } from './idempotency.suite.ts'
import { describeIdentifyBody } from './identify-body.suite.ts'
import { describeIdentifyPolicy } from './identify-policy.suite.ts'
import { describeIsolation } from './isolation.suite.ts'
import { describeKeys } from './keys.suite.ts'
import { describeLostAnswer, describeVisitAfterLostAnswer } from './lost-answer.suite.ts'
import { describeMainJob } from './main-job.suite.ts'
import { describeMetrics } from './metrics.suite.ts'
import { describeOrderOfChecks } from './order-of-checks.suite.ts'
import { describePolicy } from './policy.suite.ts'
import { startProduct, stopProduct } from './product.ts'
import { describeRateLimits } from './rate-limits.suite.ts'
import { describeReads } from './reads.suite.ts'
import { describeRoutes } from './routes.suite.ts'
import { describeSdkRoutes } from './sdk-routes.suite.ts'
import { describeSecretKey } from './secret-key.suite.ts'
import { describeSegmentLibraries } from './segment-libraries.suite.ts'
import { describeSegments } from './segments.suite.ts'
import { describeServerPackage } from './server-package.suite.ts'
import { describeTraces } from './traces.suite.ts'
import { describeTrackBody } from './track-body.suite.ts'
import { describeTrackPolicy } from './track-policy.suite.ts'
import { describeUserLimits } from './user-limits.suite.ts'
import { describeUsersExport } from './users-export.suite.ts'
import { describeWebhookCommands } from './webhook-commands.suite.ts'

// Tests every rule of the contract over HTTP against the whole product. Each table has its own project.
beforeAll(startProduct, 180_000)
afterAll(stopProduct, 60_000)

describeRoutes()
describeKeys()
describeOrderOfChecks()
describeBodies()
describeRateLimits()
describeIdentifyBody()
describeDeviceInfo()
describeIdentifyPolicy()
describeUserLimits()
describeTrackBody()
describeTrackPolicy()
describeEventLimits()
describePolicy()
describeForms()
describeFormContent()
describeSdkRoutes()
describeReads()
describeSegments()
describeIsolation()
describeChanges()
describeMainJob()
describeWebhookCommands()
describeTraces()
describeBrowser()
describeMetrics()
// These tests kill the gateway.
describeLostAnswer()
describeIdempotency()
// These tests also stop Kafka for seconds.
describeServerPackage()
describeSegmentLibraries()
describeVisitAfterLostAnswer()
// Leaves a dead letter behind.
describeUsersExport()
// These tests replace the gateway.
describeSecretKey()
