import { fileURLToPath } from 'node:url'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { openTestDb } from '@nextvisit/database/testing'
import { describeProjection } from '@nextvisit/testing'
import { createVisitsProjection, readVisits } from '../test/visits-projection.ts'

describeProjection('visits, the example', {
  roles: { visits: 'fold' },
  schema: 'visits',
  migrations: fileURLToPath(new URL('../test/migrations', import.meta.url)),
  createProjection: () => createVisitsProjection(),
  openDb: (url) => openTestDb(url, 'visits'),
  facts: [
    identifyRequested({ userName: 'ada' }),
    ...Array.from({ length: 12 }, (_, index) =>
      eventTracked({
        userName: ['ada', 'bob', 'eve'][index % 3] ?? 'ada',
        eventName: `Event ${index}`,
        keyed: index % 4 === 0,
      }),
    ),
  ],
  readRows: readVisits,
})
