import { consumers } from './consumers.ts'
import type { Dashboard } from './dashboard.ts'
import { formsAndAnswers } from './forms-and-answers.ts'
import { gateway } from './gateway.ts'
import { overview } from './overview.ts'
import { webhooks } from './webhooks.ts'

export const DASHBOARDS: readonly Dashboard[] = [overview, gateway, consumers, formsAndAnswers, webhooks]
