import { servicePrismaConfig } from '@nextvisit/database'

export default servicePrismaConfig('forms', process.env['DATABASE_URL'])
