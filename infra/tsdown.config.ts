import { defineConfig } from 'tsdown'

/** Build of the packages for customers: `tsdown --config ../../infra/tsdown.config.ts` in a package's folder. */
export default defineConfig({
  cwd: process.cwd(),
  entry: ['src/index.ts'],
  format: 'esm',
  target: 'es2022',
  sourcemap: true,
  // Writes `dist/index.js` for every platform.
  fixedExtension: false,
  // Derives types from the source alone, because every export declares its type.
  dts: { oxc: true },
  // The minifier marks `new Map()` as pure, which helps no bundler inside of functions.
  outputOptions: { comments: { annotation: false } },
  // npm publishes a licence only from the package's own folder.
  copy: [{ from: '../../LICENSE', to: '.' }],
})
