import path from 'node:path'

/** Returns the environment of the Go compiler. Without cgo, it needs no C compiler. */
export function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: '0' }
}

/** Returns the environment of the commands of an operator: this one, with the programs of a folder and a cluster. */
export function operatorEnvironment(programs: string, kubeconfig: string, home: string): NodeJS.ProcessEnv {
  const folders = `${programs}${path.delimiter}${process.env['PATH'] ?? ''}`
  return { ...process.env, PATH: folders, KUBECONFIG: kubeconfig, HOME: home, XDG_CACHE_HOME: path.join(home, 'cache') }
}
