import { type Browser, chromium } from 'playwright-core'
import { browserOnThisMachine, chosenBrowser, libraryEnvironment } from '../config.ts'
import { packagedChromium } from './packaged-chromium.ts'

export type { Browser, BrowserContext, Page, Request, Route } from 'playwright-core'

const HINT =
  'The specs need a Chromium. Install one (for example Debian\'s "chromium", or Google Chrome), or set NEXTVISIT_TEST_BROWSER=/path/to/chromium.'

/**
 * Starts a headless Chromium: the browser in `NEXTVISIT_TEST_BROWSER`, on Linux x64 the browser of an npm package, or an
 * installed one. The package contains a headless shell, which costs less than half of a full browser and is reproducible.
 */
export async function startBrowser(): Promise<Browser> {
  const chosen = chosenBrowser()
  const isPackaged = chosen === 'packaged' || (chosen === undefined && hasPackage())
  return isPackaged ? startPackaged() : startInstalled(chosen ?? browserOnThisMachine())
}

function hasPackage(): boolean {
  return process.platform === 'linux' && process.arch === 'x64'
}

async function startPackaged(): Promise<Browser> {
  const { executablePath, libraries } = await packagedChromium()
  return chromium.launch({ executablePath, env: libraryEnvironment(libraries) }).catch((cause: unknown) => {
    throw new Error(`The Chromium of @sparticuz/chromium does not start. ${HINT}`, { cause })
  })
}

async function startInstalled(executablePath: string | undefined): Promise<Browser> {
  if (executablePath === undefined)
    throw new Error(`No browser is installed, and no npm package has one for ${process.platform}. ${HINT}`)
  return chromium.launch({ executablePath, args: ['--disable-gpu'] }).catch((cause: unknown) => {
    throw new Error(`${executablePath} does not start. ${HINT}`, { cause })
  })
}
