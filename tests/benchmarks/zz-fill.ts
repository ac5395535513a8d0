import { readFileSync } from 'node:fs'
import { fillLog } from '@nextvisit/testing/black-box'
const { brokers } = JSON.parse(readFileSync('/tmp/cost-tools/stack.json', 'utf8'))
const t = performance.now()
await fillLog(brokers, { organization: 'bench', project: 'shop', facts: Number(process.argv[2]), users: 19_997 })
console.log('filled', ((performance.now() - t) / 1000).toFixed(1))
