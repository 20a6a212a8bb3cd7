autocmd BufRead,BufNewFile *.tile setfiletype tilevm
