/**
 * uPlot hands the browser's language to `Intl` as it loads. A headless Chromium in a POSIX locale calls its language
 * `en-US@posix`, which `Intl` refuses: without this the page would stay empty there. Imported first.
 */
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' })
}
