import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'

/** Runs `run-service.fixture.ts` as a process of its own. */
function runFixture(scenario: string) {
  const fixture = path.join(import.meta.dirname, '../test/run-service.fixture.ts')
  const child = spawn(process.execPath, [fixture, scenario], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => said.push(messageOf(line)))
  const exitCode = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    said,
    exitCode,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    hasSaid: (message: string) => expect.poll(() => said, { timeout: 10_000 }).toContain(message),
  }
}

function messageOf(line: string): string {
  return (JSON.parse(line) as { msg: string }).msg
}

describe('runService', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('starts in order and stops in reverse on %s', async (signal) => {
    const service = runFixture('good')
    await service.hasSaid('running')
    service.kill(signal)
    expect(await service.exitCode).toBe(0)
    expect(service.said).toEqual([
      'started first',
      'started second',
      'running',
      'stopping',
      'stopped second',
      'stopped first',
    ])
  })

  it('stops the started parts if one does not start', async () => {
    const service = runFixture('start fails')
    expect(await service.exitCode).toBe(1)
    expect(service.said).toEqual(['started first', 'failed; stopping', 'stopped first'])
  })

  it('stops on a signal during a start that hangs', async () => {
    const service = runFixture('start hangs')
    await service.hasSaid('started first')
    service.kill('SIGTERM')
    expect(await service.exitCode).toBe(0)
    expect(service.said.at(-1)).toBe('stopped first')
  })

  it.each(['part fails', 'exception', 'rejection'])('stops and exits with 1 after a failure: %s', async (scenario) => {
    const service = runFixture(scenario)
    expect(await service.exitCode).toBe(1)
    expect(service.said.slice(-3)).toEqual(['failed; stopping', 'stopped second', 'stopped first'])
  })

  it('stops the other parts if one does not stop', async () => {
    const service = runFixture('stop fails')
    await service.hasSaid('running')
    service.kill('SIGTERM')
    expect(await service.exitCode).toBe(1)
    expect(service.said.slice(-2)).toEqual(['could not stop second; stopping the others', 'stopped first'])
  })

  it('ends if a stop takes too long', async () => {
    const service = runFixture('stop hangs')
    await service.hasSaid('running')
    service.kill('SIGTERM')
    expect(await service.exitCode).toBe(1)
    expect(service.said.at(-1)).toBe('stopping took too long; ending now')
  })

  it('ends at once on a second signal', async () => {
    const service = runFixture('stop hangs long')
    await service.hasSaid('running')
    service.kill('SIGINT')
    await service.hasSaid('stopping')
    service.kill('SIGINT')
    expect(await service.exitCode).toBe(1)
    expect(service.said.at(-1)).toBe('signalled again; ending now')
  })
})
