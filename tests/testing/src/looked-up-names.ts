/** Loaded before a process of a spec: names below `.spec` have the addresses in a file. Others are looked up as usual. */
import type { LookupAddress, LookupAllOptions } from 'node:dns'
import dns from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const file = new URL(import.meta.url).searchParams.get('file') ?? ''
const { lookup } = dns

async function lookUp(hostname: string, options: LookupAllOptions): Promise<LookupAddress[]> {
  if (!hostname.endsWith('.spec')) return lookup(hostname, options)
  const known = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string[]>
  return (known[hostname] ?? []).map((address) => ({ address, family: 4 }))
}

Object.assign(dns, { lookup: lookUp })
syncBuiltinESMExports()
