import { type Browser, chromium } from 'playwright-core'
import { browserOnThisMachine, chosenBrowser, libraryEnvironment } from '../config.ts'
import { packagedChromium } from './packaged-chromium.ts'

export type { Browser, BrowserContext, Page, Route } from 'playwright-core'

const HINT =
  'The specs need a Chromium. Install one (such as Debian\'s "chromium", or Google Chrome), or name one: NEXTVISIT_TEST_BROWSER=/path/to/chromium.'

/** Starts a headless Chromium: the one that `NEXTVISIT_TEST_BROWSER` names, one of this machine, or the one of an npm package. */
export async function startBrowser(): Promise<Browser> {
  const chosen = chosenBrowser()
  const onThisMachine = chosen === undefined ? browserOnThisMachine() : chosen
  if (onThisMachine !== undefined && onThisMachine !== 'packaged') {
    return chromium.launch({ executablePath: onThisMachine, args: ['--disable-gpu'] }).catch((cause: unknown) => {
      throw new Error(`${onThisMachine} does not start. ${HINT}`, { cause })
    })
  }
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`There is no browser on this machine, and no npm package has one for ${process.platform}. ${HINT}`)
  const { executablePath, libraries } = await packagedChromium()
  return chromium.launch({ executablePath, env: libraryEnvironment(libraries) }).catch((cause: unknown) => {
    throw new Error(`There is no browser on this machine, and the one of @sparticuz/chromium does not start. ${HINT}`, {
      cause,
    })
  })
}
