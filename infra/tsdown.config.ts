import { defineConfig } from 'tsdown'

/** How the packages for customers are built: `tsdown --config ../../infra/tsdown.config.ts` in a package's folder. */
export default defineConfig({
  cwd: process.cwd(),
  entry: ['src/index.ts'],
  format: 'esm',
  target: 'es2022',
  sourcemap: true,
  // `dist/index.js`, whatever the platform.
  fixedExtension: false,
  // From the source alone: every export says its type.
  dts: { oxc: true },
  // npm publishes a licence only from the package's own folder.
  copy: [{ from: '../../LICENSE', to: '.' }],
})
