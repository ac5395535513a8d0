/** Returns the folder in which the user called pnpm, which runs commands in the checkout's root. undefined: not run by pnpm. */
export function callersFolder(): string | undefined {
  return process.env['INIT_CWD']
}
