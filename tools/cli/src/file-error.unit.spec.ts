import { describe, expect, it } from 'vitest'
import { fileError } from './file-error.ts'

describe('a file that cannot be used', () => {
  it.each([
    ['read', 'EACCES', 2, 'x.gz cannot be read (EACCES): you have no permission to read it.'],
    ['written', 'EROFS', 2, 'x.gz cannot be written (EROFS): the file system is read-only; choose another folder.'],
    ['written', 'ENOSPC', 1, 'x.gz cannot be written (ENOSPC): check the disk, and run this again.'],
  ] as const)('that cannot be %s (%s) ends with %i and one sentence', (doing, code, exitCode, message) => {
    const cause = Object.assign(new Error(code), { code })
    expect(fileError('x.gz', doing, cause)).toMatchObject({ exitCode, message })
  })
})
