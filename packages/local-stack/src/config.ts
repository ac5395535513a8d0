import { homedir } from 'node:os'
import path from 'node:path'

/** Where downloads are kept for all checkouts of this user. */
export function cacheFolder(): string {
  return path.join(process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'nextvisit')
}

/** The `java` to run: JAVA_HOME's, or the one on the PATH. */
export function javaCommand(): string {
  const home = process.env['JAVA_HOME']
  return home === undefined || home === '' ? 'java' : path.join(home, 'bin', 'java')
}
