/** Prints the paid routes that `@agentcash/discovery` finds. */
import { discoverOriginSchema } from '@agentcash/discovery'

const found = await discoverOriginSchema({ target: process.env.TARGET })
const paid = (found.endpoints ?? []).filter(({ authMode }) => authMode === 'paid')
console.log(JSON.stringify(paid.map(({ method, path }) => `${method} ${path}`)))
