/** Makes Vite and its plugins build for production. In specs, NODE_ENV is `test`, which would select React's development build. */
export function selectProductionBuild(): void {
  process.env['NODE_ENV'] = 'production'
}
