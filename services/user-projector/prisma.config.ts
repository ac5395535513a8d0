import { servicePrismaConfig } from '@nextvisit/database/prisma-config'

export default servicePrismaConfig('users', process.env['DATABASE_URL'])
