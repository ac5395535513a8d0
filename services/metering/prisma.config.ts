import { servicePrismaConfig } from '@nextvisit/database/prisma-config'

export default servicePrismaConfig('metering', process.env['DATABASE_URL'])
