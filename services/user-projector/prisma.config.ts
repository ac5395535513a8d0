import { servicePrismaConfig } from '@nextvisit/database'

export default servicePrismaConfig('users', process.env['DATABASE_URL'])
