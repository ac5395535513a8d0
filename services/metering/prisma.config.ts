import { servicePrismaConfig } from '@nextvisit/database'

export default servicePrismaConfig('metering', process.env['DATABASE_URL'])
