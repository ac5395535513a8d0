import { servicePrismaConfig } from '@nextvisit/database/prisma-config'

export default servicePrismaConfig('forms', process.env['DATABASE_URL'])
