import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { consumerNamed } from '../environment/consumer-database.ts'
import { codeFingerprint } from './code-fingerprint.ts'

it('the fingerprint of the code changes with a line of the service, but not with a spec', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-code-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  await cp(path.join(consumerNamed('metering').directory, 'src'), path.join(directory, 'src'), { recursive: true })
  const before = await codeFingerprint({ directory })
  expect(before).toMatch(/^[0-9a-f]{12}$/)
  expect(await codeFingerprint(consumerNamed('user-projector'))).not.toBe(before)
  await writeFile(path.join(directory, 'src/another.unit.spec.ts'), '// a spec')
  expect(await codeFingerprint({ directory })).toBe(before)
  await writeFile(path.join(directory, 'src/another.ts'), '// a line')
  expect(await codeFingerprint({ directory })).not.toBe(before)
})
