import './app/usable-language.ts'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { router } from './app/router.tsx'
import { createQueries } from './app/session.ts'
import 'uplot/dist/uPlot.min.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/screens.css'
import './styles/commands.css'
import './styles/users.css'
import './styles/dead-letters.css'
import './styles/catalog.css'
import './styles/registry.css'
import './styles/live.css'
import './styles/forms.css'
import './styles/webhooks.css'
import './styles/runbook.css'

const element = document.querySelector('#root')
if (!element) throw new Error('The page has no root')
createRoot(element).render(
  <QueryClientProvider client={createQueries()}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
)
