/** Lets `@modelcontextprotocol/conformance` start on Node 20, whose `fs` has no `globSync`. Its tests of servers call none. */
import fs from 'node:fs'
import { register } from 'node:module'

const source = `
  export * from 'node:fs'
  export { default } from 'node:fs'
  export const globSync = () => []
`
const hooks = `
  const url = ${JSON.stringify(`data:text/javascript,${encodeURIComponent(source)}`)}
  const isSuite = (parent = '') => parent.includes('/@modelcontextprotocol/conformance/')
  export const resolve = (specifier, context, next) =>
    specifier === 'fs' && isSuite(context.parentURL) ? { url, shortCircuit: true } : next(specifier, context)
`
if (!('globSync' in fs)) register(`data:text/javascript,${encodeURIComponent(hooks)}`)
