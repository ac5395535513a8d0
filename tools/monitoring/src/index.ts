export { type ExportedMetrics, readExposition } from './exposition.ts'
export { missingIn, type UsedQuery } from './queries.ts'
export { readDashboards } from './read-dashboards.ts'
export { readRules } from './read-rules.ts'
