/** `pnpm dashboards`: writes infra/monitoring/dashboards. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { toGrafana } from './dashboards/dashboard.ts'
import { DASHBOARDS } from './dashboards/dashboards.ts'
import { DASHBOARD_FOLDER } from './read-dashboards.ts'

for (const dashboard of DASHBOARDS) {
  const text = `${JSON.stringify(toGrafana(dashboard), null, 2)}\n`
  writeFileSync(path.join(DASHBOARD_FOLDER, `${dashboard.name}.json`), text)
}
