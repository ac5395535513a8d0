/** Preloaded into the services of a campaign. Collects garbage on a signal, so that measured memory is really in use. */
process.on('SIGUSR2', () => {
  globalThis.gc?.()
  globalThis.gc?.() // frees what the first run finalized
})
