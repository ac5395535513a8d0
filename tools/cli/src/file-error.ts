import { CliError, EXIT } from './errors.ts'

/** Remedies by error code of the operating system. */
const REASONS: Readonly<Record<'read' | 'written', Readonly<Record<string, string>>>> = {
  read: {
    ENOENT: 'there is no such file',
    ENOTDIR: 'there is no such file',
    EACCES: 'you have no permission to read it',
    EISDIR: 'it is a folder; name a file',
  },
  written: {
    ENOENT: 'its folder does not exist; create it first',
    ENOTDIR: 'its folder does not exist; create it first',
    EACCES: 'you have no permission to write there',
    EROFS: 'the file system is read-only; choose another folder',
    EISDIR: 'it is a folder; name a file',
  },
}

/** Returns the error for a file that cannot be read or written, with the remedy if one is known. */
export function fileError(file: string, doing: 'read' | 'written', cause: unknown): CliError {
  if (cause instanceof CliError) return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  const reason = new Map(Object.entries(REASONS[doing])).get(code)
  if (reason) return new CliError(`${file} cannot be ${doing} (${code}): ${reason}.`, EXIT.usage, { cause })
  return new CliError(`${file} cannot be ${doing} (${code}): check the disk, and run this again.`, EXIT.failed, {
    cause,
  })
}
