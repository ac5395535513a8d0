import { afterAll, beforeAll } from 'vitest'
import { describeBodies } from './bodies.ts'
import { describeBrowser } from './browser.ts'
import { describeChanges } from './changes.ts'
import { describeDeviceInfo } from './device-info.ts'
import { describeEventLimits } from './event-limits.ts'
import { describeForms } from './forms.ts'
import { describeIdempotency } from './idempotency.ts'
import { describeIdentifyBody } from './identify-body.ts'
import { describeIdentifyPolicy } from './identify-policy.ts'
import { describeIsolation } from './isolation.ts'
import { describeKeys } from './keys-table.ts'
import { describeLostAnswer, describeVisitAfterLostAnswer } from './lost-answer.ts'
import { describeMainJob } from './main-job.ts'
import { describeOrderOfChecks } from './order-of-checks.ts'
import { describePolicy } from './policy.ts'
import { startProduct, stopProduct } from './product.ts'
import { describeRateLimits } from './rate-limits.ts'
import { describeReads } from './reads.ts'
import { describeRoutes } from './routes.ts'
import { describeSdkRoutes } from './sdk-routes.ts'
import { describeSegmentLibraries } from './segment-libraries.ts'
import { describeSegments } from './segments.ts'
import { describeServerPackage } from './server-package.ts'
import { describeTrackBody } from './track-body.ts'
import { describeTrackPolicy } from './track-policy.ts'
import { describeUserLimits } from './user-limits.ts'

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
describeSdkRoutes()
describeReads()
describeSegments()
describeIsolation()
describeChanges()
describeMainJob()
describeBrowser()
// These tests kill the gateway.
describeLostAnswer()
describeIdempotency()
// These tests also stop Kafka for seconds.
describeServerPackage()
describeSegmentLibraries()
describeVisitAfterLostAnswer()
