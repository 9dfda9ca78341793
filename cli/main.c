#include <stdio.h>
#include <supple/supple.h>

int main(void)
{
    printf("supple %s\n", supple_version());
    return 0;
}
