import { servicePrismaConfig } from '@nextvisit/database'

export default servicePrismaConfig('registry', process.env['DATABASE_URL'])
