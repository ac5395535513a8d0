import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startThrowAwayStack } from '@nextvisit/testing/black-box'
const stack = await startThrowAwayStack(path.resolve(import.meta.dirname, 'benchmark-workspace.yaml'), {
  serviceEnvironment: { NODE_OPTIONS: process.env['SERVICE_NODE_OPTIONS'] ?? '--inspect=127.0.0.1:0' },
})
const logs = path.join(stack.dataDirectory, 'logs')
const inspect: Record<string, string> = {}
for (const f of readdirSync(logs)) {
  const m = /Debugger listening on (ws:\S+)/.exec(readFileSync(path.join(logs, f), 'utf8'))
  if (m) inspect[f.replace('.log', '')] = m[1]!
}
writeFileSync(
  '/tmp/cost-tools/stack.json',
  JSON.stringify(
    {
      gatewayUrl: stack.gatewayUrl,
      keys: stack.keys,
      brokers: stack.brokers,
      dataDirectory: stack.dataDirectory,
      databaseUrls: Object.fromEntries(stack.databaseUrls),
      redisUrl: stack.redisUrl,
      pids: Object.fromEntries([...stack.processes()].map(([n, p]) => [n, p.pid])),
      inspect,
    },
    null,
    1,
  ),
)
console.log('up')
while (!existsSync('/tmp/cost-tools/stop')) await sleep(1000)
await stack.remove()
process.exit()
