import { servicePrismaConfig } from '@nextvisit/database/prisma-config'

export default servicePrismaConfig('registry', process.env['DATABASE_URL'])
